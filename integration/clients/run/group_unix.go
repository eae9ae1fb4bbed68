//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// own gives a suite a process group of its own, with all that it will start.
func own(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killAll ends what is left of a suite's process group.
func killAll(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
