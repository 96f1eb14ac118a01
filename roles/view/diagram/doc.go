// Package diagram draws pictures as text: SVG, and the texts of labels in the languages
// of other tools. Its functions are pure: the same values give the same bytes. It knows
// nothing of a blackboard.
package diagram
