"""The sandbox provider: a payment provider of its own, with its own process and its own books.

Standard library only. Nothing in here knows Ledgerline, so its books can witness for or against it.

With the secret: `POST /v1/payments`, `/v1/airtime`, `/v1/checkouts`, each once per reference, and
`GET /v1/<these>/{reference}`. Every payment is reported by signed events, as Standard Webhooks has
it, to `--webhook-url`, until the receiver answers 2xx and also after a restart.

For tests and people on this machine, without secret: `GET /books`; `GET`, `POST`, `DELETE /faults`
(or a wish in a narration, `sandbox:hang(2)`; `faults.Kind` lists them); `GET` and `POST /events`,
`POST /events/{id}/deliver?times=30`, `GET /deliveries`; a checkout's page; `GET /healthz`.
"""
