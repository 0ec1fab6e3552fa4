{{/* SPDX-License-Identifier: Apache-2.0 */}}
{{- define "weir.labels" -}}
app.kubernetes.io/name: weir
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
{{- define "weir.selector" -}}
app.kubernetes.io/name: weir
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "weir.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- define "weir.secret" -}}
{{ .Values.load.existingSecret | default (printf "%s-store" .Release.Name) }}
{{- end }}
{{- define "weir.to" -}}
{{- if .Values.load.to }}
{{- .Values.load.to }}
{{- else if .Values.clickhouse.enabled }}
{{- printf "clickhouse://%s-clickhouse/weir" .Release.Name }}
{{- else }}
{{- fail "load.to: name a store, or set clickhouse.enabled" }}
{{- end }}
{{- end }}
