// Okstra runs teams of AI worker CLIs from a written run definition.
package main

import (
	"os"

	"github.com/okstra/okstra/cmd/okstra/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], cli.Process())) }
