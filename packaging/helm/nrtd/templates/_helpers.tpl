{{/* SPDX-License-Identifier: Apache-2.0 */}}
{{- define "nrtd.selector" -}}
app.kubernetes.io/name: nrtd
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "nrtd.labels" -}}
{{ include "nrtd.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}
