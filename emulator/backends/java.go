package backends

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const installJava = "install Java 17 or later (Debian, Ubuntu: apt-get install default-jre-headless; " +
	"macOS: brew install openjdk) and make sure that java is on PATH or JAVA_HOME is set"

// findJava returns the path of java: that of JAVA_HOME, otherwise that on PATH.
func findJava() (string, error) {
	if home := os.Getenv("JAVA_HOME"); home != "" {
		java := filepath.Join(home, "bin", "java")
		if _, err := exec.LookPath(java); err != nil {
			return "", fmt.Errorf("the Firestore emulator needs Java, and JAVA_HOME=%s holds none (%w): correct or unset it, or %s",
				home, err, installJava)
		}
		return java, nil
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return "", fmt.Errorf("the Firestore emulator needs Java, and none was found: %s", installJava)
	}
	return java, nil
}
