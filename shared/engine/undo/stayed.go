package undo

import "slices"

// Stayed finds the deletions in a log that were not made. The zero value has read nothing.
type Stayed struct {
	read int                // records so far
	told map[deletion][]int // which of them tell of a deletion, but for those that stayed
	all  map[int]bool
}

// deletion is what one call of a run wrote down to delete: another may have deleted what this one left.
type deletion struct {
	call, target string // as [Record.Stayed] names it
	generation   int64  // of an object; of a document, which may have its name, and of an account 0
}

// Read reads the next record of the log, which a call wrote, and reports whether it says that a deletion stayed.
func (s *Stayed) Read(call string, r Record) (is bool) {
	if s.told == nil {
		s.told, s.all = map[deletion][]int{}, map[int]bool{}
	}
	d := deletion{call, r.target(), r.Generation}
	if r.Object != nil {
		d.generation = r.Object.Generation
	}
	told := s.told[d]
	switch {
	case r.Object != nil && d.generation == 0: // no note is about it
	case r.Deletes():
		s.told[d] = append(told, s.read)
	case r.Stayed != "" && len(told) > 0:
		which := 0 // of a document, later ones hold what it was when it went
		if d.generation != 0 {
			which = len(told) - 1 // of an object, earlier ones tell from when on it can have gone
		}
		s.all[told[which]], is = true, true
		s.told[d] = slices.Delete(told, which, which+1)
	}
	s.read++
	return is
}

// Has reports whether the i-th record, from 0, tells of a deletion that stayed.
func (s *Stayed) Has(i int) bool { return s.all[i] }
