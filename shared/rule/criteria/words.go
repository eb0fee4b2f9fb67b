package criteria

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Words returns the condition in words, e.g. "status is reviewed or dismissed".
func (c Condition) Words() string {
	var all []string
	for _, o := range c.operators() {
		all = append(all, strings.Replace(o.words, "%s", List(Shown(c.Ops[o.key]), "or"), 1))
	}
	return c.Field + " " + strings.Join(all, " and ")
}

// Unmet returns the opposite of the condition in words, e.g. "status is not reviewed".
func (c Condition) Unmet() string {
	var all []string
	for _, o := range c.operators() {
		switch values := Shown(c.Ops[o.key]); {
		case o.key == "in" && len(values) == 2:
			all = append(all, fmt.Sprintf("is neither %s nor %s", values[0], values[1]))
		case o.key == "in" && len(values) > 2:
			all = append(all, "is none of "+List(values, "and"))
		default:
			all = append(all, strings.Replace(o.unmet, "%s", List(values, "or"), 1))
		}
	}
	return c.Field + " " + strings.Join(all, ", or ")
}

// misplaced is what is wrong with a field that is [Lookup.Misplaced].
const misplaced = " is written in another way, as a field with a dot in its name or below what is no map"

// Unknown returns why nobody can tell whether an item meets a condition.
func (c Condition) Unknown(of Lookup) string {
	wrong := " has another type"
	if of.Misplaced(c.Field) {
		wrong = misplaced
	}
	return c.Field + wrong + ", so it is unknown whether " + c.Words()
}

// Kept returns why an item is kept that a condition does not let go, and whether somebody should look at it.
func (c Condition) Kept(a Answer, of Lookup) (reason string, invalid bool) {
	if a == Unclear && of.Misplaced(c.Field) {
		return c.Unknown(of), true
	}
	value, there := of(c.Field)
	for _, o := range c.operators() {
		switch {
		case !o.asserts:
		case a == Unclear:
			return c.Field + " is of another type", false
		case !there:
			return c.Field + " is missing", false
		case value == nil:
			return c.Field + " is null", false
		}
		if a == Unclear && o.unclear != "" {
			return c.Field + " is " + o.unclear, true
		}
		invalid = invalid || o.invalid
	}
	return c.Unmet(), invalid
}

// Shown returns values as people read them. Quotes show which white space one has, or that it is a text.
func Shown(want any) (texts []string) {
	for _, v := range listOf(want) {
		text := fmt.Sprint(v)
		_, isText := v.(string)
		if v == nil {
			text = "null"
		} else if strings.Join(strings.Fields(text), " ") != text || text == "" || isText && json.Valid([]byte(text)) {
			text = fmt.Sprintf("%q", text)
		}
		texts = append(texts, text)
	}
	return texts
}

// Alike returns the one of some names that another looks like, misspelt by at most two letters; "" if there is none.
func Alike(name string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	like := slices.MinFunc(names, func(a, b string) int { return edits(name, a) - edits(name, b) })
	if edits(name, like) > min(2, (len(name)-1)/2) {
		return ""
	}
	return like
}

// edits returns how many letters must be added, removed or replaced to make one word of another, whatever their case.
func edits(from, to string) int {
	from, to = strings.ToLower(from), strings.ToLower(to)
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i := range from {
		without := row[0]
		row[0] = i + 1
		for j := range to {
			replaced := without
			if from[i] != to[j] {
				replaced++
			}
			without, row[j+1] = row[j+1], min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(to)]
}
