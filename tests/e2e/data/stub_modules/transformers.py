"""Models that answer, and a Trainer that has trained."""

import types

import torch


def config(**_):
    return None


class Model(torch.nn.Module):
    def __init__(self, _):
        pass

    def forward(self, **_):
        return types.SimpleNamespace(logits=torch.Anything(), last_hidden_state=torch.Anything())


class Trainer:
    def __init__(self, model, args, train_dataset):
        self.count = len(train_dataset)

    def train(self):
        return types.SimpleNamespace(global_step=10, training_loss=0.5)


BertConfig = GPT2Config = TrainingArguments = config
BertModel = BertForMaskedLM = BertForSequenceClassification = GPT2LMHeadModel = Model
