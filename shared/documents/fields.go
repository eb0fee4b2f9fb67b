package documents

import (
	"errors"
	"fmt"
	"math"
)

// Number returns a number, integer or floating-point; ok is false if the field is missing, null, of another type, infinite or
// NaN.
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

// maxExact is the largest floating-point number up to which each stands for one whole number only.
const maxExact = 1 << 53

// Whole returns a whole number. A client may have written it as a floating-point number. ok is false if the field is missing,
// null, of another type, a fraction, or a floating-point number so large that it may stand for several whole numbers.
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

// Strict reads the fields of a document that decides what is done, such as settings. It collects everything that is wrong
// with them, because nothing may be done by a guess.
type Strict struct {
	Document
	problems []error
}

// Bool returns a boolean; null and missing are false.
func (s *Strict) Bool(field string) bool {
	v, ok := s.Data[field].(bool)
	if !ok && s.Data[field] != nil {
		s.refuse(field, "true or false")
	}
	return v
}

// Whole returns a whole number from least to most, or 0 if the field holds anything else.
func (s *Strict) Whole(field string, least, most int) int {
	v, ok := s.Document.Whole(field)
	if !ok || v < int64(least) || v > int64(most) {
		s.refuse(field, fmt.Sprintf("a whole number from %d to %d", least, most))
		return 0
	}
	return int(v)
}

// Number returns a number that is not below least. Null and missing stand for least.
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

// Err returns all problems as one error, nil if there is none.
func (s *Strict) Err() error { return errors.Join(s.problems...) }

// refuse records a problem. It shows the value if that is a number. Of anything else, which may be long or confidential, it
// shows only the type.
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
