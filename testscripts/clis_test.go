package testscripts

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestClisUnavailable: where the real worker CLIs cannot be tested, that is
// said loudly, and is no failure.
func TestClisUnavailable(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	for _, name := range []string{"sh", "dirname"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(filepath.Join(bin, "sh"), "clis/run.sh")
	cmd.Env = []string{"PATH=" + bin, "HOME=" + t.TempDir()}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("without npm: %v", err)
	}
	if !strings.Contains(string(out), "THE REAL WORKER CLIS WERE NOT TESTED: npm is not here") {
		t.Errorf("without npm it says:\n%s", out)
	}

	// The installation alone is asked for something, and cannot do it.
	cmd = exec.Command(filepath.Join(bin, "sh"), "clis/install.sh")
	cmd.Env = []string{"PATH=" + bin, "HOME=" + t.TempDir()}
	out, err = cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), "install Node.js") {
		t.Errorf("installation without npm: %v\n%s", err, out)
	}
}
