package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/manifest"
)

// errWrongList says that a list of functions has problems, all of which have been printed.
var errWrongList = errors.New("a list of functions is wrong")

// lists are the lists of functions that a command reads.
type lists struct {
	rules string // the file to read; empty: functions/rules.json
}

func (l *lists) flags(c *cobra.Command) {
	c.Flags().StringVar(&l.rules, "rules", "", "read `FILE` in place of functions/rules.json")
}

// read returns the functions of the lists, and of these one's own: those of functions/rules.json, or of the file of --rules. It
// prints all problems.
func (a *app) read(l lists) (all, own []manifest.Entry, err error) {
	all = functions.All()
	if l.rules != "" {
		text, err := os.ReadFile(l.rules)
		if err != nil {
			return nil, nil, wrongUse("--rules: %w", err)
		}
		if all, err = functions.Read(manifest.File{Name: l.rules, Text: text}); err != nil {
			return nil, nil, a.wrongList(err)
		}
	}
	upstream, err := functions.Read(manifest.File{Name: "none", Text: []byte("{}")})
	if err != nil {
		return nil, nil, a.wrongList(err)
	}
	if own = all[len(upstream):]; len(own) == 0 && l.rules != "" {
		return nil, nil, wrongUse("%s declares nothing: its list functions is empty", l.rules)
	}
	return all, own, nil
}

// wrongList prints each problem on a line.
func (a *app) wrongList(err error) error {
	lines := strings.Split(err.Error(), "\n")
	for _, line := range lines {
		fmt.Fprintf(a.errs, "firesweep: %s\n", screen.Plain(line))
	}
	fmt.Fprintf(a.errs, "%s; see docs/rules.md\n", plural(len(lines), "problem"))
	return errWrongList
}
