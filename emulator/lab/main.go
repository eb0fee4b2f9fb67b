package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"
)

type options struct {
	spread, errors, quota float64
	seed                  uint64
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == childArgument {
		if err := runOne(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	name := flag.String("case", "live", "")
	n := flag.Int("n", 1000, "")
	ms := flag.Int("ms", 0, "")
	flag.Parse()
	for _, m := range cases {
		if m.name == *name {
			r, err := measure(context.Background(), m, *n, linkOf(time.Duration(*ms)*time.Millisecond, options{}))
			if err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			text, _ := json.MarshalIndent(r, "", " ")
			fmt.Println(string(text))
		}
	}
}
