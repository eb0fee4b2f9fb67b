package backends

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
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

// explainJavaFailure returns an error for the user, made from what Java printed before it ended.
func explainJavaFailure(java string, p *process, err error) error {
	output := p.output.String()
	switch {
	case strings.Contains(output, "java.net.BindException"):
		return errPortTaken
	case strings.Contains(output, "UnsupportedClassVersionError"):
		return fmt.Errorf("the emulator needs a newer Java than %s, which is version %s: %s", java, javaVersion(java), installJava)
	case strings.Contains(output, "Unable to locate a Java Runtime"): // macOS has a java that only says this
		return fmt.Errorf("%s is only a placeholder: %s", java, installJava)
	}
	return fmt.Errorf("%w (%w); the end of what it printed:\n%s", err, p.err, p.output.lastLines(25))
}

var javaVersionPattern = regexp.MustCompile(`version "([^"]+)"`)

// javaVersion returns the version of java, or "unknown".
func javaVersion(java string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	output, err := exec.CommandContext(ctx, java, "-version").CombinedOutput()
	if match := javaVersionPattern.FindSubmatch(output); err == nil && match != nil {
		return string(match[1])
	}
	return "unknown"
}
