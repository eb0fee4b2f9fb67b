package rule

// Answer says whether a field meets a condition.
type Answer int

// The answers.
const (
	Unmet Answer = iota
	Met
	Unclear // the field has a type that cannot be judged
)

// Holds judges a field's value; there says whether the document has the field.
func (c Condition) Holds(value any, there bool) Answer {
	set := there && value != nil
	switch c.Is {
	case Text:
		if text, ok := value.(string); !ok || text == "" {
			return Unclear
		}
		return Met
	case Null:
		return answer(!set)
	case NotNull:
		return answer(set)
	case Missing:
		return answer(!there)
	case True:
		return answer(value == true)
	case NotTrue:
		if _, isBool := value.(bool); set && !isBool {
			return Unclear
		}
		return answer(value != true)
	}
	for _, want := range c.Alternatives() {
		if same(value, want) {
			return Met
		}
	}
	return Unmet
}

func answer(met bool) Answer {
	if met {
		return Met
	}
	return Unmet
}

// same compares as Firestore does, for which 1 and 1.0 are equal.
func same(value, want any) bool {
	switch v := value.(type) {
	case string, bool:
		return value == want
	case int64:
		if w, ok := want.(float64); ok {
			return float64(v) == w && int64(w) == v
		}
		return value == want
	case float64:
		if w, ok := want.(int64); ok {
			return float64(w) == v && int64(v) == w
		}
		return value == want
	}
	return false
}
