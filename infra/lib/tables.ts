/** The tables of the shipped handler, ledger and gate. All are kept when the stack goes. */

import { RemovalPolicy } from 'aws-cdk-lib';
import { AttributeType, Billing, TableEncryptionV2, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { Construct } from 'constructs';

export interface TableKey {
  readonly partition: string;
  readonly sort?: string;
  /** The attribute with the time, in unix seconds, after which an item may go. */
  readonly ttl?: string;
}

/** Events as `DynamoArchive` writes them. The TTL is for those who add the attribute: nothing sets it. */
export const ARCHIVE: TableKey = { partition: 'pk', sort: 'sk', ttl: 'ttl' };

/** Marks as `DynamoLedger` writes them. */
export const LEDGER: TableKey = { partition: 'pk', ttl: 'ttl' };

/** Who has consented, as the consent gate reads it. */
export const CONSENT: TableKey = { partition: 'subject' };

export function table(scope: Construct, id: string, tableName: string, key: TableKey): TableV2 {
  return new TableV2(scope, id, {
    tableName,
    partitionKey: { name: key.partition, type: AttributeType.STRING },
    ...(key.sort === undefined ? {} : { sortKey: { name: key.sort, type: AttributeType.STRING } }),
    ...(key.ttl === undefined ? {} : { timeToLiveAttribute: key.ttl }),
    billing: Billing.onDemand(),
    encryption: TableEncryptionV2.dynamoOwnedKey(),
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    deletionProtection: true,
    removalPolicy: RemovalPolicy.RETAIN,
  });
}
