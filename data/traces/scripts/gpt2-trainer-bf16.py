"""A GPT-2 of 4 layers in bf16, trained by the Hugging Face Trainer."""

import torch
import transformers


class Texts(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, _index):
        tokens = torch.randint(0, 50000, (256,))
        return {"input_ids": tokens, "labels": tokens}


model = transformers.GPT2LMHeadModel(transformers.GPT2Config(n_layer=4))
arguments = transformers.TrainingArguments(output_dir="gpt2-trainer", per_device_train_batch_size=4, bf16=True,
                                           max_steps=3, report_to=[])
transformers.Trainer(model=model, args=arguments, train_dataset=Texts()).train()
