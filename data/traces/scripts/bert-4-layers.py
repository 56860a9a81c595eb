"""A BERT of 4 layers in fp32, trained with AdamW on batches of a loader with workers."""

import torch
import transformers
from torch.utils.data import DataLoader, TensorDataset

model = transformers.BertForSequenceClassification(transformers.BertConfig(num_hidden_layers=4)).to("cuda")
optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
data = TensorDataset(torch.randint(0, 30000, (64, 128)), torch.randint(0, 2, (64,)))
for tokens, labels in DataLoader(data, batch_size=8, shuffle=True, num_workers=2):
    out = model(input_ids=tokens.to("cuda"), labels=labels.to("cuda"))
    out.loss.backward()
    print(float(out.loss))
    optimizer.step()
    optimizer.zero_grad()
