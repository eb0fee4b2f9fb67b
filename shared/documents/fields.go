package documents

import (
	"errors"
	"fmt"
	"math"
)

// Number returns a number field, whole or real; ok is false if it is missing, null, of another type, infinite or not a number.
func (d Document) Number(field string) (v float64, ok bool) {
	switch n := d.Data[field].(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, !math.IsNaN(n) && !math.IsInf(n, 0)
	default:
		return 0, false
	}
}

// maxExact is the number up to which a real number stands for one whole number only.
const maxExact = 1 << 53

// Whole returns a field that holds a whole number, which a client may have written as a real one; ok is false if it is
// missing, null, of another type, a fraction or a real number that could stand for several whole ones.
func (d Document) Whole(field string) (v int64, ok bool) {
	if n, isWhole := d.Data[field].(int64); isWhole {
		return n, true
	}
	n, ok := d.Number(field)
	if !ok || n != math.Trunc(n) || math.Abs(n) > maxExact {
		return 0, false
	}
	return int64(n), true
}

// Strict reads the fields of a document that says what is to be done, such as settings, and collects what is wrong with
// them: nothing may be done by a guess.
type Strict struct {
	Document
	problems []error
}

// Bool returns a truth value; null and missing are false.
func (s *Strict) Bool(field string) bool {
	v, ok := s.Data[field].(bool)
	if !ok && s.Data[field] != nil {
		s.refuse(field, "true or false")
	}
	return v
}

// Whole returns a whole number between two limits, 0 for one that is wrong.
func (s *Strict) Whole(field string, least, most int) int {
	v, ok := s.Document.Whole(field)
	if !ok || v < int64(least) || v > int64(most) {
		s.refuse(field, fmt.Sprintf("a whole number from %d to %d", least, most))
		return 0
	}
	return int(v)
}

// Number returns a number that is not below a limit; null and missing are the limit.
func (s *Strict) Number(field string, least float64) float64 {
	v, ok := s.Document.Number(field)
	switch {
	case s.Data[field] == nil:
		return least
	case !ok || v < least:
		s.refuse(field, fmt.Sprintf("a number, %v or more", least))
	}
	return v
}

// Err returns all problems, nil if there is none.
func (s *Strict) Err() error { return errors.Join(s.problems...) }

// refuse tells a number as it is, and of everything else, which may be long or confidential, only what it is.
func (s *Strict) refuse(field, must string) {
	var is string
	switch v := s.Data[field].(type) {
	case int64, float64:
		is = fmt.Sprint(v)
	case nil:
		is = "missing"
	case string:
		is = "a string"
	default:
		is = "neither a number nor a string"
	}
	s.problems = append(s.problems, fmt.Errorf("%s is %s: it must be %s", field, is, must))
}
