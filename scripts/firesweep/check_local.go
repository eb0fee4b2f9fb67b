//go:build !windows

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/firesweep/firesweep/emulator/backends"
)

// startLocal starts new backends on free ports, because emulators that the environment names may hold somebody's data. The
// process's environment leads Google's client libraries to the new ones.
func startLocal(ctx context.Context, announce io.Writer) (*local, error) {
	b, err := backends.Start(ctx, backends.Options{Log: announce})
	if err != nil {
		return nil, err
	}
	environment := b.Environment()
	for name, value := range environment {
		if err := os.Setenv(name, value); err != nil {
			return nil, errors.Join(fmt.Errorf("set %s: %w", name, err), b.Close())
		}
	}
	return &local{environment: environment, project: "demo-check", close: b.Close}, nil
}
