"""The SCAN wing: Syntactic Attention (Russin, Jo, O'Reilly and Bengio 2020) and the networks it is compared with."""
