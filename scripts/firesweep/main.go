// Command firesweep is for operators. It shows what cleanups would do and what they did, runs and stops them, takes runs back,
// and checks what in the project would make a cleanup fail.
//
//	go run ./scripts/firesweep --help
//
// A subcommand is in the file of its name, or in that of the one that it belongs to. None of this is deployed.
package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/googleapis/gax-go/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	_ "golang.org/x/crypto/x509roots/fallback" // Mozilla's certificates, where the machine has none, as in the image
	"google.golang.org/api/option"
	"google.golang.org/api/transport"

	_ "github.com/firesweep/firesweep" // registers all functions
	"github.com/firesweep/firesweep/shared/backends"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/harmless"
	"github.com/firesweep/firesweep/shared/quota"
	"github.com/firesweep/firesweep/shared/rule/criteria"
	"github.com/firesweep/firesweep/shared/version"
)

// Exit codes.
const (
	exitFine        = 0
	exitFailed      = 1   // something failed, was aborted or skipped
	exitWrongUse    = 2   // wrong arguments or settings; nothing was begun
	exitInterrupted = 130 // by Ctrl-C
)

// app holds what commands use. Tests replace all of it.
type app struct {
	in        io.Reader
	out, errs io.Writer
	getenv    func(string) string
	clock     func() time.Time
	sleep     func(context.Context, time.Duration) error // ends early with the context's error
	screen    streams
	// google returns additional options for a client of one of Google's services that works on a project, such as whose quota
	// counts.
	google func(ctx context.Context, service, project string) []option.ClientOption
	// credentials returns an error if there are none for Google's services.
	credentials func(ctx context.Context) error

	// export sets a variable of the process's environment, which Google's clients read. It is nil where tests stand in for Google:
	// emulators are not looked for.
	export func(variable, value string) error

	hooks   backends.Hooks // of what reads undo logs and takes runs back
	running engine.Hooks   // of what plans and runs here

	application
	dir       string // the working directory
	rulesFlag string // --rules; empty: what is found from dir on
	json      bool   // --json

	answers *bufio.Reader               // of in, once somebody was asked
	readers map[string]*backends.Opened // of what was read

	chosen   string // the bucket, where STORAGE_BUCKET names none; empty: none was needed
	noBucket error  // why none was found

	given string // as the printer has it

	begun bool // the arguments are right, and a command has begun
}

// streams says which of the program's streams are terminals.
type streams struct {
	in, errs bool
	colour   bool // of standard output
	width    int  // of standard output, in columns
}

func main() {
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintf(os.Stderr, "firesweep: %s\n", err)
		os.Exit(exitFailed)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	width, colour := outputOf(os.Stdout, os.Getenv)
	a := &app{
		in: os.Stdin, out: os.Stdout, errs: os.Stderr, getenv: os.Getenv, clock: time.Now, sleep: gax.Sleep,
		readers: map[string]*backends.Opened{}, dir: dir, google: asCaller, credentials: findCredentials, export: os.Setenv,
		screen: streams{in: isTerminal(os.Stdin), errs: isTerminal(os.Stderr), colour: colour, width: width},
	}
	code := a.run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// asCaller returns the options of clients that work with the caller's credentials.
func asCaller(ctx context.Context, _, project string) []option.ClientOption {
	return quota.Of(ctx, project)
}

func findCredentials(ctx context.Context) error {
	_, err := transport.Creds(ctx)
	return err
}

// A usageError says that the command was used wrongly. Nothing was begun.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func wrongUse(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// A saidError is the exit code of a command that has printed why.
type saidError int

func (e saidError) Error() string { return "see above" }

const errSaid = saidError(exitFailed) // a command failed

// output keeps the first error of a writer, because most of what prints has nobody to return it to.
type output struct {
	io.Writer
	err error
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	o.err = cmp.Or(o.err, err)
	return n, err
}

// run runs the command that the arguments name and returns the exit code.
func (a *app) run(ctx context.Context, args []string) int {
	out := &output{Writer: a.out}
	a.out = out
	root := a.root()
	root.SetArgs(args)
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.errs)
	defer a.closeReaders()
	err := root.ExecuteContext(ctx)
	var usage usageError
	var said saidError
	if out.err != nil && (err == nil || errors.As(err, &said) || errors.Is(err, out.err)) {
		err, a.begun = fmt.Errorf("write the output: %w", out.err), true
	}
	if err == nil {
		return exitFine
	}
	text := harmless.Text(err.Error())
	switch {
	case ctx.Err() != nil:
		interrupted := "firesweep: interrupted"
		if err != context.Cause(ctx) { //nolint:errorlint // the error says more than that it was interrupted
			interrupted += ": " + text
		}
		fmt.Fprintln(a.errs, interrupted)
		return exitInterrupted
	case errors.As(err, &said):
		return int(said)
	case errors.As(err, &usage) || !a.begun:
		if !errors.As(err, &usage) { // cobra says of arguments what is wrong, and not what to write instead
			text += "; see --help"
		}
		fmt.Fprintf(a.errs, "firesweep: %s\n", text)
		return exitWrongUse
	default:
		fmt.Fprintf(a.errs, "firesweep: %s\n", text)
		if do := a.remedy(ctx, err); do != "" {
			fmt.Fprintf(a.errs, "  -> %s\n", do)
		}
		return exitFailed
	}
}

// Groups of commands.
const (
	begin    = "begin"
	act      = "act"
	lookBack = "look back"
	off      = "off"
)

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:     "firesweep",
		Version: version.String(),
		Short:   "See what Firesweep's cleanups would do and did, run one, and undo a run",
		Long: `See what Firesweep's cleanups would do and did, run one, and undo a run.

Your rules are in firesweep.json, in this folder or above it. The project is
that of --project, of GOOGLE_CLOUD_PROJECT, or of .firebaserc. Other settings
are the functions' environment variables, such as STORAGE_BUCKET. Credentials
are the application default ones: gcloud auth application-default login. If
emulator variables are set, such as FIRESTORE_EMULATOR_HOST, the emulators are
used.

Exit codes: 0 fine, 1 something failed, was aborted or skipped, 2 wrong use, or
nobody agreed, 130 interrupted. What --json writes: ` + version.Page("docs/command.md"),
		SilenceErrors: true, SilenceUsage: true, SuggestionsMinimumDistance: 2, Args: isCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetFlagErrorFunc(flagError)
	root.AddGroup(&cobra.Group{ID: begin, Title: "Begin:"}, &cobra.Group{ID: act, Title: "Delete:"},
		&cobra.Group{ID: lookBack, Title: "Look back:"}, &cobra.Group{ID: off, Title: "Off and on:"})
	root.SetHelpCommand(&cobra.Command{
		Use: "help [COMMAND]", Short: "Help about a command", Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, names []string) error {
			of, rest, err := root.Find(names)
			if err = cmp.Or(err, isCommand(root, rest)); err != nil {
				return err
			}
			of.InitDefaultHelpFlag()
			return of.Help()
		},
	})
	root.AddCommand(&cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Run: func(*cobra.Command, []string) { fmt.Fprintln(a.out, "firesweep version "+version.String()) },
	})
	root.PersistentFlags().StringVar(&a.rulesFlag, "rules", "", "read your rules from `FILE`, not from firesweep.json")
	for _, group := range []struct {
		id   string
		make []func() *cobra.Command
	}{
		{begin, []func() *cobra.Command{a.initCommand, a.checkCommand, a.doctorCommand}},
		{act, []func() *cobra.Command{a.planCommand, a.runCommand}},
		{lookBack, []func() *cobra.Command{a.runsCommand, a.showCommand, a.undoCommand}},
		{off, []func() *cobra.Command{a.holdCommand, a.resumeCommand}},
	} {
		for _, command := range group.make {
			c := command()
			c.GroupID, c.PersistentPreRunE = group.id, a.prepare
			if c.Name() != "check" { // which asks no project
				c.Flags().String("project", "", "the project's `ID`, or an alias of .firebaserc")
			}
			c.Flags().BoolVar(&a.json, "json", false, "write JSON, for programs")
			root.AddCommand(c)
		}
	}
	return root
}

// asGiven returns those of some flags that were given, as they were, for a command that repeats them. --force=false says nothing.
func asGiven(c *cobra.Command, names ...string) (text string) {
	for _, name := range names {
		f := c.Flags().Lookup(name)
		if f == nil || !f.Changed || f.Value.Type() == "bool" && f.Value.String() == "false" {
			continue
		}
		for _, value := range valuesOf(f) {
			if text += " --" + name; f.Value.Type() != "bool" {
				text += " " + quoted(value)
			}
		}
	}
	return text
}

// valuesOf returns the values of a flag that was given.
func valuesOf(f *pflag.Flag) []string {
	if several, ok := f.Value.(pflag.SliceValue); ok {
		return several.GetSlice()
	}
	return []string{f.Value.String()}
}

// isCommand refuses what is no command, and names the one that may be meant.
func isCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if like := root.SuggestionsFor(args[0]); len(like) > 0 {
		return wrongUse("unknown command %q: is it %s?", args[0], strings.Join(like, " or "))
	}
	return fmt.Errorf("unknown command %q", args[0])
}

// flagError is what is said of a wrong flag. It names the one that may be meant.
func flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	if words := c.Flags().Args(); !c.HasParent() && len(words) > 0 { // the flag is of a command that is none
		return isCommand(c, words)
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if like := criteria.Alike(unknown.GetSpecifiedName(), names); like != "" {
		return wrongUse("%w: is it --%s?", err, like)
	}
	return err
}

// prepare finds the rules and the project that a command is about.
func (a *app) prepare(c *cobra.Command, _ []string) error {
	var empty error // as of a variable that is not set: it would restrict nothing
	c.Flags().Visit(func(f *pflag.Flag) {
		if slices.Contains(valuesOf(f), "") {
			empty = wrongUse("--%s is empty: give its value, or leave it out", f.Name)
		}
	})
	if empty != nil {
		return empty
	}
	if err := a.load(c.Name() == "init"); err != nil {
		return err
	}
	a.given = asGiven(c, "project", "rules")
	if project := c.Flags().Lookup("project"); project != nil {
		if err := a.chooseProject(project.Value.String()); err != nil {
			return err
		}
		if err := a.findEmulators(c.Context()); err != nil {
			return err
		}
	}
	a.begun = true
	return nil
}
