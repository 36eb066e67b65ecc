"""Results beside closed forms and published figures: the cases, and docs/validation.md, which is made of them."""
