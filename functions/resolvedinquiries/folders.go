package resolvedinquiries

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/firesweep/firesweep/shared/config"
)

// defaultFolders is where images of inquiries lie unless INQUIRY_FOLDERS says otherwise.
const defaultFolders = "inquiries/"

// maxFolder is the longest name of a folder that leaves an object in it a name, in bytes.
const maxFolder = 1023

// settings returns the folders whose images go with an inquiry.
func settings(l *config.Loader) any {
	return config.Parsed(l, "INQUIRY_FOLDERS", defaultFolders, "folders of the bucket that end with a slash, separated by commas", parseFolders)
}

// parseFolders parses folders of a bucket, such as "inquiries/,support/images/". Each is relative and ends with a slash, so
// that none is the whole bucket or half of another's name.
func parseFolders(text string) ([]string, error) {
	var folders []string
	for folder := range strings.SplitSeq(text, ",") {
		folder = strings.TrimSpace(folder)
		if err := checkFolder(folder); err != nil {
			return nil, fmt.Errorf("%q: %w", folder, err)
		}
		folders = append(folders, folder)
	}
	return folders, nil
}

func checkFolder(folder string) error {
	switch parts := strings.Split(strings.TrimSuffix(folder, "/"), "/"); {
	case strings.Trim(folder, "/") == "":
		return errors.New("it names no folder")
	case strings.HasPrefix(folder, "gs:") || strings.HasPrefix(folder, "/"):
		return errors.New("it must be relative to the bucket")
	case !strings.HasSuffix(folder, "/"):
		return errors.New("it must end with a slash")
	case slices.Contains(parts, "") || slices.Contains(parts, ".") || slices.Contains(parts, ".."):
		return errors.New("a part of it is empty or only dots")
	case len(folder) > maxFolder || !utf8.ValidString(folder) || strings.ContainsAny(folder, "\r\n\x00"):
		return errors.New("no object can have such a name")
	}
	return nil
}
