package reliability

import "flag"

var full = flag.Bool("full", false, "try every point, which takes many minutes")
