"""The last step done wrong: in which unit, over which denominator?"""
