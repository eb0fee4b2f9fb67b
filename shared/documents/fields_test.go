package documents

import (
	"math"
	"testing"
)

func TestNumbers(t *testing.T) {
	for name, tt := range map[string]struct {
		value    any
		number   float64
		isNumber bool
		whole    int64
		isWhole  bool
	}{
		"whole":               {int64(3), 3, true, 3, true},
		"negative":            {int64(-3), -3, true, -3, true},
		"the largest":         {int64(math.MaxInt64), math.MaxInt64, true, math.MaxInt64, true},
		"whole, as a real":    {-3.0, -3, true, -3, true},
		"the largest exact":   {0x1p53, 0x1p53, true, 1 << 53, true},
		"one of several":      {0x1p53 + 2, 0x1p53 + 2, true, 0, false},
		"a fraction":          {0.5, 0.5, true, 0, false},
		"infinite":            {math.Inf(1), 0, false, 0, false},
		"infinitely negative": {math.Inf(-1), 0, false, 0, false},
		"not a number":        {math.NaN(), 0, false, 0, false},
		"a text":              {"3", 0, false, 0, false},
		"a truth value":       {true, 0, false, 0, false},
		"null":                {nil, 0, false, 0, false},
	} {
		d := Document{Data: map[string]any{"n": tt.value}}
		number, isNumber := d.Number("n")
		whole, isWhole := d.Whole("n")
		if isNumber != tt.isNumber || isNumber && number != tt.number {
			t.Errorf("%s: number %v, %v", name, number, isNumber)
		}
		if isWhole != tt.isWhole || whole != tt.whole {
			t.Errorf("%s: whole %v, %v", name, whole, isWhole)
		}
	}
}
