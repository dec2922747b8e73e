python manage.py sweep_idempotency --only abandoned --only recovery --only actions
python manage.py sweep_idempotency --dry-run
python manage.py sweep_idempotency --only retention --verbosity 2
