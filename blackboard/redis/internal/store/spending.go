package store

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"sett/blackboard"
	"sett/contract/model"
)

// DecodeSpending reads the stored account of a goal, whose form _spending.lua has.
func DecodeSpending(fields map[string]string) blackboard.Spending {
	goal, more := numbers(fields["goal"], 5), numbers(fields["more"], 4)
	s := blackboard.Spending{
		Cost: model.Money(goal[0]), Tokens: goal[1], Calls: goal[2],
		Held: blackboard.Reservation{Cost: model.Money(goal[3]), Tokens: goal[4]},
		Time: micros(numbers(fields["time"], 1)[0]),
		More: model.Budget{Cost: model.Money(more[0]), Tokens: more[1], Calls: more[2], Time: micros(more[3])},
	}
	s.Over = blackboard.ParseOver(fields["over"])
	for field, text := range fields {
		if claim, agent, name, ok := runOf(field); ok {
			s.Runs = append(s.Runs, blackboard.Run{Claim: claim, Spent: spent(agent, name, text)})
		}
	}
	slices.SortFunc(s.Runs, func(a, b blackboard.Run) int {
		return strings.Compare(a.Claim+"\x00"+a.Agent+"\x00"+a.Model, b.Claim+"\x00"+b.Agent+"\x00"+b.Model)
	})
	return s
}

// DecodeSums reads the stored sums by model, in the order of their names.
func DecodeSums(fields map[string]string) []blackboard.Spent {
	all := make([]blackboard.Spent, 0, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		all = append(all, spent("", name, fields[name]))
	}
	return all
}

// Sums are the numbers of all runs of accounts, by model.
type Sums map[string][]int64

// runNumbers is how many numbers a run has.
const runNumbers = 10

// Add takes in the runs of a stored account.
func (s Sums) Add(account map[string]string) {
	for field, text := range account {
		if _, _, name, ok := runOf(field); ok {
			if s[name] == nil {
				s[name] = make([]int64, runNumbers)
			}
			for i, n := range numbers(text, runNumbers) {
				s[name][i] += n
			}
		}
	}
}

// Fields returns the sums as they are stored.
func (s Sums) Fields() map[string]string {
	all := make(map[string]string, len(s))
	for name, sum := range s {
		all[name] = strings.Trim(fmt.Sprint(sum), "[]")
	}
	return all
}

// runOf reads the name of a run's field.
func runOf(field string) (claim, agent, name string, ok bool) {
	names, ok := strings.CutPrefix(field, "run:")
	parts := strings.SplitN(names, ":", 3)
	if !ok || len(parts) != 3 {
		return "", "", "", false
	}
	return parts[0], parts[1], parts[2], true
}

func spent(agent, name, text string) blackboard.Spent {
	n := numbers(text, runNumbers)
	return blackboard.Spent{
		Agent: agent, Model: name, Calls: n[0],
		Usage: model.Usage{Input: n[1], Cached: n[2], CacheWrite: n[3], Output: n[4], Reasoning: n[5]},
		Cost:  model.Money(n[6]), Priced: n[7] == n[0], Estimated: n[8], Took: micros(n[9]),
	}
}

// numbers reads n numbers; zeros where there are none.
func numbers(text string, n int) []int64 {
	all := make([]int64, n)
	for i, word := range strings.Fields(text) {
		if i < n {
			all[i], _ = strconv.ParseInt(word, 10, 64)
		}
	}
	return all
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
