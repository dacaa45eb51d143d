package cmux

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"sync"

	"github.com/Masterminds/semver/v3"
)

var (
	versionLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^cmux (\d+\.\d+\.\d+\S*) \(\d+\)( \[[0-9a-f]+\])?\s*$`)
	})

	// oldest is the oldest version whose way of splitting and respawning is
	// known.
	oldest = semver.MustParse("0.62.0")
)

// version asks the cmux program which one it is. Other programs carry the name.
func (b *Backend) version(ctx context.Context, program string) (*semver.Version, string, error) {
	ctx, cancel := context.WithTimeout(ctx, b.callTimeout)
	defer cancel()
	out, err := b.command(exec.CommandContext(ctx, program, "--version"), "").Output()
	line, _, _ := strings.Cut(string(out), "\n")
	m := versionLine().FindStringSubmatch(line)
	if m == nil {
		if err != nil {
			return nil, "", fmt.Errorf("%s --version: %w", program, err)
		}
		return nil, "", fmt.Errorf("%s is another program called cmux: it calls itself %q", program, printable(line))
	}
	v, err := semver.NewVersion(m[1])
	if err != nil {
		return nil, "", fmt.Errorf("%s --version: %w", program, err)
	}
	return v, strings.TrimSpace(line), nil
}
