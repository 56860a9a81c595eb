s#!/bin/bash
#CARPOOL --mem 12G --time 2h
#CARPOOL --name "a b" --env A=B

python train.py
#CARPOOL --gpus 4
