package main

import (
	"testing"
	"time"
)

func TestShort(t *testing.T) {
	t.Parallel()
	for d, text := range map[time.Duration]string{
		0: "0 ms", 999 * time.Millisecond: "999 ms", time.Second: "1.0 s", 61 * time.Second: "1m01s", 90 * time.Minute: "1h30m", 49 * time.Hour: "2 days",
	} {
		want(t, d.String(), text, short(d))
	}
}
