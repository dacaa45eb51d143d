package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// startUp compares the start of okstra with that of a shell.
func startUp(ctx context.Context, b *bench) ([]row, error) {
	const times = 20
	ours, err := b.best(ctx, times, b.dir, b.okstra, "version")
	if err != nil {
		return nil, err
	}
	theirs, err := b.best(ctx, times, b.dir, "/bin/sh", "-c", ":")
	if err != nil {
		return nil, err
	}
	return []row{{"okstra version", ours.String(), "sh -c :  " + theirs.String(), ratio(ours.wall, theirs.wall), "cpu under 6ms"}}, nil
}

// plans compares plans of a fan-out with what others need to print as many
// targets: make's dry run, and buildx bake where it is installed.
func plans(ctx context.Context, b *bench) ([]row, error) {
	var rows []row
	for _, size := range []struct {
		n, times int
		aim      string
	}{{10, 5, "20ms"}, {1000, 3, "150ms"}, {10_000, 1, "2s"}} {
		dir, err := b.project(fmt.Sprintf("plan%d", size.n), fanned(size.n))
		if err != nil {
			return rows, err
		}
		ours, err := b.best(ctx, size.times, dir, b.okstra, "plan", "--json")
		if err != nil {
			return rows, err
		}
		name := fmt.Sprintf("plan of %d", size.n)
		if err := os.WriteFile(filepath.Join(dir, "Makefile"), []byte(makefile(size.n)), 0o600); err != nil {
			return rows, err
		}
		theirs, err := b.best(ctx, size.times, dir, "make", "-n")
		if err != nil {
			return rows, err
		}
		rows = append(rows, row{name, ours.String(), "make -n  " + theirs.String(), ratio(ours.wall, theirs.wall), size.aim})
		if _, _, err := b.run(ctx, dir, "docker", "buildx", "version"); err != nil || size.n > 1000 {
			continue // it is not there, or takes minutes
		}
		if err := os.WriteFile(filepath.Join(dir, "docker-bake.hcl"), []byte(bake(size.n)), 0o600); err != nil {
			return rows, err
		}
		theirs, err = b.best(ctx, size.times, dir, "docker", "buildx", "bake", "--print")
		if err != nil {
			return rows, err
		}
		rows = append(rows, row{name, ours.String(), "buildx bake --print  " + theirs.String(), ratio(ours.wall, theirs.wall), size.aim})
	}
	return rows, nil
}

// fanned is a definition with n workers, the way a large review is written.
func fanned(n int) string {
	return fmt.Sprintf(`
provider "bert" {
  extends = provider.command
  command = ["/bin/true", "--result", result.path]
}
duty "review" {
  instructions = "Look at ${param.file} with care, and write what you saw to ${result.path}."
  parameter "file" {
    type = string
  }
}
run "review" {
  backend = backend.process
  round "files" {
    assign {
      duty     = duty.review
      to       = provider.bert
      for_each = [%s]
      with     = { file = each.key }
    }
  }
}
`, quoted(n))
}

func quoted(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%q, ", name(i))
	}
	return b.String()
}

func name(i int) string { return fmt.Sprintf("src/pkg%d/file%d.go", i%97, i) }

func makefile(n int) string {
	var all, rules strings.Builder
	for i := range n {
		fmt.Fprintf(&all, " t%d", i)
		fmt.Fprintf(&rules, "t%d:\n\t/bin/true --result %s\n", i, name(i))
	}
	return "all:" + all.String() + "\n" + rules.String()
}

func bake(n int) string {
	return fmt.Sprintf(`
target "default" {
  name = "t${replace(replace(file, "/", "-"), ".", "-")}"
  matrix = { file = [%s] }
  args = { FILE = file }
}
`, quoted(n))
}
