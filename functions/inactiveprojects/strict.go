package inactiveprojects

import (
	"errors"
	"fmt"

	"github.com/firesweep/firesweep/shared/documents"
)

// strict reads the fields of settings. It collects everything that is wrong
// with them, because nothing may be done by a guess.
type strict struct {
	documents.Document
	problems []error
}

// Bool returns a boolean; null and missing are false.
func (s *strict) Bool(field string) bool {
	v, ok := s.Data[field].(bool)
	if !ok && s.Data[field] != nil {
		s.refuse(field, "true or false")
	}
	return v
}

// Whole returns a whole number from least to most, or 0 if the field holds anything else.
func (s *strict) Whole(field string, least, most int) int {
	v, ok := s.Document.Whole(field)
	if !ok || v < int64(least) || v > int64(most) {
		s.refuse(field, fmt.Sprintf("a whole number from %d to %d", least, most))
		return 0
	}
	return int(v)
}

// Number returns a number that is not below least. Null and missing stand for least.
func (s *strict) Number(field string, least float64) float64 {
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
func (s *strict) Err() error { return errors.Join(s.problems...) }

// refuse records a problem. It shows the value if that is a number. Of anything else, which may be long or confidential, it
// shows only the type.
func (s *strict) refuse(field, must string) {
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
