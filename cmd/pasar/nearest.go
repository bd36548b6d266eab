package main

import "pasar/ui"

// nearest is the word of words that is most like s, or "" when none is near.
var nearest = ui.Nearest
