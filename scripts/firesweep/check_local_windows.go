package main

import (
	"context"
	"errors"
	"io"
)

// startLocal fails: a Unix shell holds the leash of Firestore's emulator.
func startLocal(context.Context, io.Writer) (*local, error) {
	return nil, errors.New("on Windows, the local backends need its Subsystem for Linux (WSL): run this there")
}
