// SPDX-License-Identifier: Apache-2.0

// Package differential asks two programs the same random questions and reports where their answers differ: the real
// code of Kubernetes, and nrtd.
package differential

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"nrtd.dev/tests/upstream/internal/quiet"
)

// Problem is a kind of question.
type Problem[Case any] struct {
	Name string
	// Random draws a case.
	Random func(r *rand.Rand) Case
	// Compare asks both sides; it returns a line for each difference.
	Compare func(c Case) ([]string, error)
	// Smaller lists cases that are a bit simpler than c; each is a copy.
	Smaller func(c Case) []Case
}

// Settings of a run.
type Settings struct {
	Seed     uint64
	First    int    // the first case's number
	Cases    int    // the number after the last one's
	Save     string // folder for failing cases
	MaxFails int    // stop after that many
	Shrinks  int    // how many smaller cases are tried for one that failed; 0 = maxShrinks, below = none
	Out      io.Writer
	// For the program that runs.
	Nrtd     string
	Machines string
	Replay   string // folder of saved cases
	Timeout  time.Duration
}

// Flags adds those flags that every comparison has. What MaxFails, Shrinks and Timeout are now are their defaults.
func (s *Settings) Flags() {
	if s.Shrinks == 0 {
		s.Shrinks = maxShrinks
	}
	if s.Timeout == 0 {
		s.Timeout = time.Hour
	}
	flag.StringVar(&s.Nrtd, "nrtd", "build/nrtd", "the program under test")
	flag.StringVar(&s.Machines, "machines", "", "folder of machines, each a folder with sys in it")
	flag.StringVar(&s.Replay, "replay", "", "folder of saved cases, which are compared first")
	flag.Uint64Var(&s.Seed, "seed", rand.Uint64N(1000000), "random seed")
	flag.IntVar(&s.First, "first", 0, "number of the first random case, to repeat one of a run")
	flag.StringVar(&s.Save, "save", "build/upstream/failures", "folder for cases that differ")
	flag.IntVar(&s.MaxFails, "max-fails", s.MaxFails, "stop after this many differing cases")
	flag.IntVar(&s.Shrinks, "shrinks", s.Shrinks, "how many smaller cases are tried for one that differs, -1 = none")
	flag.DurationVar(&s.Timeout, "timeout", s.Timeout, "give up after this time")
}

// Main parses the flags, runs the comparison, and ends the process if that failed: with the status 1, after a line for an error.
func Main(name string, s *Settings, run func(ctx context.Context) (failed int, err error)) {
	flag.Parse()
	quiet.LogTo(io.Discard)
	ctx, cancel := context.WithTimeout(context.Background(), s.Timeout)
	defer cancel()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	failed, err := run(ctx)
	if err != nil {
		fmt.Printf("not ok %s: %v\n", name, err)
	}
	if failed > 0 || err != nil {
		os.Exit(1)
	}
}

// ErrStuck is what Compare returns, with the differences, when the real code does not come back. Go cannot end it: the run is to
// go on in another process.
var ErrStuck = errors.New("the real code does not return")

// Stuck ends a run, or a replay, at a case that got stuck; Next is the one after it.
type Stuck struct{ Next int }

func (s Stuck) Error() string { return fmt.Sprintf("%v at case %d", ErrStuck, s.Next-1) }

// maxShrinks is how many smaller cases are tried unless Settings says it.
const maxShrinks = 400

// saved is a case on disk, with what differed when it was written.
type saved[Case any] struct {
	Seed        uint64   `json:"seed"`
	Index       int      `json:"index"`
	Differences []string `json:"differences"`
	Case        Case     `json:"case"`
}

// Run compares up to Cases random cases. A failing case is made as small as it gets and saved.
func Run[Case any](p Problem[Case], s Settings) (passed, failed int, err error) {
	for i := s.First; i < s.Cases; i++ {
		c := p.Random(rand.New(rand.NewPCG(s.Seed, uint64(i))))
		differences, err := p.Compare(c)
		stuck := errors.Is(err, ErrStuck)
		if err != nil && !stuck {
			return passed, failed, fmt.Errorf("%s: seed %d case %d: %w", p.Name, s.Seed, i, err)
		}
		if len(differences) == 0 {
			if passed++; stuck {
				return passed, failed, Stuck{i + 1}
			}
			continue
		}
		failed++
		if !stuck { // no process is left to try smaller cases in
			c, differences, err = shrink(p, c, differences, s.Shrinks)
			stuck = errors.Is(err, ErrStuck)
			if err != nil && !stuck {
				return passed, failed, err
			}
		}
		path, err := save(p.Name, s, saved[Case]{s.Seed, i, differences, c})
		if err != nil {
			return passed, failed, err
		}
		fmt.Fprintf(s.Out, "not ok %s: seed %d case %d, smallest form in %s\n", p.Name, s.Seed, i, path)
		for _, line := range differences {
			fmt.Fprintf(s.Out, "  | %s\n", line)
		}
		if failed >= s.MaxFails {
			fmt.Fprintf(s.Out, "  | stopped after %d differing cases of %d\n", failed, i+1)
			return passed, failed, nil
		}
		if stuck {
			return passed, failed, Stuck{i + 1}
		}
	}
	return passed, failed, nil
}

// shrink takes the first smaller case that still differs, until none does.
func shrink[Case any](p Problem[Case], c Case, differences []string, most int) (Case, []string, error) {
	tries := 0
	if most == 0 {
		most = maxShrinks
	}
	for again := true; again; {
		again = false
		for _, smaller := range p.Smaller(c) {
			if tries++; tries > most {
				return c, differences, nil
			}
			found, err := p.Compare(smaller)
			if err != nil {
				return c, differences, err
			}
			if len(found) > 0 {
				c, differences, again = smaller, found, true
				break
			}
		}
	}
	return c, differences, nil
}

func save[Case any](name string, s Settings, what saved[Case]) (string, error) {
	if err := os.MkdirAll(s.Save, 0o755); err != nil {
		return "", err
	}
	text, err := json.MarshalIndent(what, "", "  ")
	if err != nil {
		return "", err
	}
	path := filepath.Join(s.Save, fmt.Sprintf("%s-%d-%d.json", name, what.Seed, what.Index))
	return path, os.WriteFile(path, append(text, '\n'), 0o644)
}

// Replay compares the cases saved in the files of a folder, in the order of their names, from number first on. A folder that is
// missing, or no name, holds none.
func Replay[Case any](p Problem[Case], folder string, first int, out io.Writer) (passed, failed int, err error) {
	if folder == "" {
		return 0, 0, nil
	}
	paths, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return 0, 0, err
	}
	for i, path := range paths {
		if i < first {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return passed, failed, err
		}
		var stored saved[Case]
		if err := json.Unmarshal(text, &stored); err != nil {
			return passed, failed, fmt.Errorf("%s: %w", path, err)
		}
		differences, err := p.Compare(stored.Case)
		stuck := errors.Is(err, ErrStuck)
		if err != nil && !stuck {
			return passed, failed, fmt.Errorf("%s: %w", path, err)
		}
		if len(differences) == 0 {
			passed++
		} else {
			failed++
			fmt.Fprintf(out, "not ok %s: %s: %q\n", p.Name, path, differences)
		}
		if stuck {
			return passed, failed, Stuck{i + 1}
		}
	}
	return passed, failed, nil
}

// ReplayAndRun compares the saved cases of a folder, as Replay, and then random ones.
func ReplayAndRun[Case any](p Problem[Case], folder string, s Settings) (passed, failed int, err error) {
	passed, failed, err = Replay(p, folder, 0, s.Out)
	if err != nil {
		return passed, failed, err
	}
	same, differing, err := Run(p, s)
	return passed + same, failed + differing, err
}
