// SPDX-License-Identifier: Apache-2.0
// This file lets the compiler accept functions without a body (see main.go).
