s#!/usr/bin/env python3
#CARPOOL -n 2
print(1)
