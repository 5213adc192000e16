"""The third step done wrong: which targets count?"""
