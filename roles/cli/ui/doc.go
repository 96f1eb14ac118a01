// Package ui serves the page of an instance to a browser on this machine, and the API
// that the page reads. README.md here is the API's reference.
//
// It decides and derives nothing: each answer is the output of a command of sett, which
// runs in this process for the person that started the server. It knows neither a
// blackboard nor the command line's grammar.
package ui
