package modelserver

import (
	"fmt"
	"io"

	"github.com/spf13/pflag"
)

// Main is the server as a program, for people and scripts: it prints its
// address, ends when stdin does, and then prints a line for each request. The
// exit code is 0, 1 (cannot start) or 64 (wrong usage).
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := pflag.NewFlagSet("modelserver", pflag.ContinueOnError)
	flags.SetOutput(stderr)
	port := flags.Int("port", 0, "port on 127.0.0.1; 0 is any free one")
	if err := flags.Parse(args); err != nil {
		return 64
	}
	s, err := Start(Scripts(), *port)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	fmt.Fprintln(stdout, s.URL)
	// The end of stdin is the sign to stop, and so is an error.
	_, _ = io.Copy(io.Discard, stdin)
	if err := s.Close(); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	for _, r := range s.Requests() {
		fmt.Fprintf(stdout, "%s %s model=%s step=%d tools=%d result=%q\n", r.Method, r.Path, r.Model, r.Step, len(r.Tools), r.Result)
	}
	return 0
}
