package inactiveprojects

import (
	"testing"

	"github.com/firesweep/firesweep/shared/documents"
)

func TestStrict(t *testing.T) {
	type values struct {
		on     bool
		months int
		size   float64
	}
	const secret = "what nobody should read"
	for name, tt := range map[string]struct {
		on, months, size any
		want             values
		err              string
	}{
		"all":          {true, int64(3), 0.5, values{true, 3, 0.5}, ""},
		"least":        {false, int64(1), int64(-1), values{false, 1, -1}, ""},
		"most":         {true, 12.0, nil, values{true, 12, -1}, ""},
		"all are null": {nil, nil, nil, values{size: -1}, "months is missing: it must be a whole number from 1 to 12"},
		"too few":      {true, int64(0), nil, values{true, 0, -1}, "months is 0: it must be a whole number from 1 to 12"},
		"too many":     {true, int64(13), nil, values{true, 0, -1}, "months is 13: it must be a whole number from 1 to 12"},
		"a fraction":   {true, 2.5, nil, values{true, 0, -1}, "months is 2.5: it must be a whole number from 1 to 12"},
		"below":        {true, int64(2), -1.5, values{true, 2, -1.5}, "size is -1.5: it must be a number, -1 or more"},
		"texts":        {secret, secret, secret, values{}, "on is a string: it must be true or false\nmonths is a string: it must be a whole number from 1 to 12\nsize is a string: it must be a number, -1 or more"},
		"something else": {int64(1), true, []any{secret}, values{}, "on is 1: it must be true or false\nmonths is neither a number nor a string: it must be a whole number from 1 to 12\n" +
			"size is neither a number nor a string: it must be a number, -1 or more"},
	} {
		s := strict{Document: documents.Document{Data: map[string]any{"on": tt.on, "months": tt.months, "size": tt.size}}}
		got := values{s.Bool("on"), s.Whole("months", 1, 12), s.Number("size", -1)}
		err := ""
		if s.Err() != nil {
			err = s.Err().Error()
		}
		if got != tt.want || err != tt.err {
			t.Errorf("%s: %+v, %q; want %+v, %q", name, got, err, tt.want, tt.err)
		}
	}
}
