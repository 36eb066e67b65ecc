"""Small, slow models that share no code with flashraid: what its results are checked against."""
