package objects

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Folders are folders of a bucket, each with a slash at its end.
type Folders []string

// ParseFolders parses folders such as "inquiries/,support/images/". Each must be relative and end with a slash, so that none
// is the whole bucket or a part of another folder's name.
func ParseFolders(text string) (folders Folders, err error) {
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
	// the longest leaves no room for a name in it
	case len(folder) >= maxName || !utf8.ValidString(folder) || strings.ContainsAny(folder, "\r\n\x00"):
		return errors.New("no object can have such a name")
	}
	return nil
}

// Hold reports whether an object lies in one of the folders.
func (f Folders) Hold(object string) bool {
	return slices.ContainsFunc(f, func(folder string) bool { return len(object) > len(folder) && strings.HasPrefix(object, folder) })
}
