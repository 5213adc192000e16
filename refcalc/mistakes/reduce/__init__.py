"""The fourth step done wrong: which sum is divided by which count?"""
