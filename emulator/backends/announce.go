package backends

import (
	"context"
	"fmt"
	"io"
	"log/slog"
)

// Announce returns a log for [Options]. It prints what the user has to wait for, such as a download.
func Announce(out io.Writer) *slog.Logger { return slog.New(announcer{out}) }

type announcer struct{ out io.Writer }

// Enabled implements slog.Handler.
func (announcer) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// Handle implements slog.Handler.
func (a announcer) Handle(_ context.Context, r slog.Record) error {
	_, err := fmt.Fprintln(a.out, r.Message)
	return err
}

// WithAttrs implements slog.Handler.
func (a announcer) WithAttrs([]slog.Attr) slog.Handler { return a }

// WithGroup implements slog.Handler.
func (a announcer) WithGroup(string) slog.Handler { return a }
