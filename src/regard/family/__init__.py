"""What models of other tasks than translation open as: a language model, a masked model, a classifier, a tagger.

`opening.load` gives the object for any model folder; a task (`regard.tasks`) names its class.
"""
