"""The language of kernels, which nobody reads here."""
