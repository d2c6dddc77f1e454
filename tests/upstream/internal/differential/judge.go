// SPDX-License-Identifier: Apache-2.0

package differential

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
)

// Judge is a program that answers questions, a JSON document each, in their order.
type Judge struct {
	process *exec.Cmd
	stdin   io.Closer
	in      *json.Encoder
	out     *json.Decoder
}

// StartJudge starts it, with these variables added to its environment. It ends with Stop, or with ctx.
func StartJudge(ctx context.Context, program string, environment ...string) (*Judge, error) {
	process := exec.CommandContext(ctx, program)
	process.Stderr = os.Stderr
	process.Env = append(os.Environ(), environment...)
	in, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &Judge{process, in, json.NewEncoder(in), json.NewDecoder(out)}, process.Start()
}

// Ask puts a question; answer points to what becomes of the answer.
func (j *Judge) Ask(question, answer any) error {
	if err := j.in.Encode(question); err != nil {
		return err
	}
	return j.out.Decode(answer)
}

// Stop tells it that there are no more questions, and waits until it has ended.
func (j *Judge) Stop() {
	j.stdin.Close()
	j.process.Wait()
}
