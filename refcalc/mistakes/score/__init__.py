"""The first step done wrong: how improbable is one target, given one row of logits?"""
