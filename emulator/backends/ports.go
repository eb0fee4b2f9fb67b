package backends

import (
	"fmt"
	"strings"
)

// PortInUse is a port that something else holds.
type PortInUse struct {
	Service string // the service for which the port was meant
	Port    int
}

// PortsInUseError names all the ports that are in use.
type PortsInUseError []PortInUse

// Error implements error.
func (e PortsInUseError) Error() string {
	var taken []string
	for _, p := range e {
		taken = append(taken, fmt.Sprintf("port %d for %s is in use", p.Port, p.Service))
	}
	return fmt.Sprintf("%s: another local Firesweep or the Firebase Emulator Suite may be running "+
		"(this shows who holds a port: lsof -i :%d); stop that one, or choose another port", strings.Join(taken, ", "), e[0].Port)
}
