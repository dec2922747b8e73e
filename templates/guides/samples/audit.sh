python manage.py idempotency_audit http://127.0.0.1:8000/orders \
    --header @ada.txt --other-header 'Authorization: Basic Ym9sYTpwdw==' \
    --body '{"sku": "pen", "quantity": 1}' --bad-body '{"sku": "pen", "quantity": 1000}'
