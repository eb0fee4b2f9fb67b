// Package logging writes the structured lines that Cloud Logging understands: one JSON object a line with severity,
// message, time and labels.
package logging

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"unicode/utf8"

	"github.com/firesweep/firesweep/shared/harmless"
)

// Keys that Cloud Logging lifts out of the payload, and the one that makes Error Reporting pick a line up.
const (
	labelsKey = "logging.googleapis.com/labels"
	typeKey   = "@type"
	typeError = "type.googleapis.com/google.devtools.clouderrorreporting.v1beta1.ReportedErrorEvent"
)

// Stderr writes to what os.Stderr is when a line is written, for a logger made before main has begun.
type Stderr struct{}

// Write implements io.Writer.
func (Stderr) Write(p []byte) (int, error) { return os.Stderr.Write(p) }

// New returns a logger that writes to w. What names and texts of users do in a message is undone ([harmless.Text]). It cuts a
// message after [MaxMessage] characters; then the field text has all of it.
func New(w io.Writer) *slog.Logger {
	return slog.New(fit{slog.NewJSONHandler(w, &slog.HandlerOptions{ReplaceAttr: rename})})
}

// MaxMessage is how many characters a line's message has at most.
const MaxMessage = 400

// fit makes messages harmless and short.
type fit struct{ slog.Handler }

// Handle implements slog.Handler.
func (h fit) Handle(ctx context.Context, line slog.Record) error {
	line.Message = harmless.Text(line.Message)
	if utf8.RuneCountInString(line.Message) > MaxMessage {
		line.AddAttrs(slog.String("text", line.Message))
		line.Message = harmless.Cut(line.Message, MaxMessage-1)
	}
	return h.Handler.Handle(ctx, line)
}

// WithAttrs implements slog.Handler.
func (h fit) WithAttrs(attrs []slog.Attr) slog.Handler { return fit{h.Handler.WithAttrs(attrs)} }

// rename gives slog's own attributes the names and values that Cloud Logging expects.
func rename(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	switch a.Key {
	case slog.MessageKey:
		a.Key = "message"
	case slog.LevelKey:
		a.Key = "severity"
		if level, ok := a.Value.Any().(slog.Level); ok && level == slog.LevelWarn {
			a.Value = slog.StringValue("WARNING")
		}
	}
	return a
}

// Labels returns the attribute whose pairs Cloud Logging indexes as the line's labels.
func Labels(pairs ...slog.Attr) slog.Attr {
	return slog.Attr{Key: labelsKey, Value: slog.GroupValue(pairs...)}
}

// Problem returns the attribute that says, in one short text, the first thing that is wrong; alerts quote it.
func Problem(text string) slog.Attr { return slog.String("problem", harmless.Text(text)) }

// What a line that needs a person is about, although no run failed.
const (
	AlertBehind  = "behind"  // a job does not keep up
	AlertAccount = "account" // an account could not be deleted for long
)

// Alert returns the attribute that has somebody notified of a line, although no run failed.
func Alert(about string) slog.Attr { return slog.String("alert", about) }

// Reported returns the attribute that has Error Reporting pick the line up.
func Reported() slog.Attr { return slog.String(typeKey, typeError) }

// Stack returns the attribute in which Error Reporting looks for a panic's stack trace.
func Stack(panicked any, stack []byte) slog.Attr {
	return slog.String("stack_trace", "panic: "+fmt.Sprint(panicked)+"\n\n"+string(stack))
}
